-- Included by the scripts of the operations: the record of one resource, its grants and its summary. The queue is in
-- queue.lua. Together they implement the same rules as dev.holdfast.store.ResourceRecord does in Java.
--
-- A record is one hash, so that it is moved between the nodes of a cluster, and evicted, as a whole. Its fields:
--   counter   the last fencing counter
--   use       'granted limit ends waiting tombs', absent if no claim uses the name: the sum of the permits, the limit,
--             no grant ends before this time, how many claims wait, when the last tombstone ends
--   kept      only a grant that ends later than this must prolong the life of the record, so that the common request
--             need not; the record lives for at least the time of keeping after this
--   queue     'front back next skipped', absent if no claim waits: the first and the last waiter in the order of
--             arrival, the first one that is not skipped, and how many are skipped; '-' stands for none
--   ID        a grant: 'ends permits counter since lease repeated\nowner'
--   >ID       a waiter: 'ends permits since lease repeated channel\nowner'; it ends when its ticket does
--   @ID       the place of a waiter: 'before after skipped', its neighbours in the order of arrival, and 1 if its client
--             is not subscribed. What the front has as its neighbour before is arbitrary, so that removing the front
--             changes no other place.
--   !ID       a tombstone: until when the acquire of a released claim, which may still arrive, is refused
--   graves    how many tombstones there are
--   swept     when a full queue was last searched for waiters whose tickets are over
-- Waiters whose tickets are over, and tombstones, stay until they are met or swept; nothing counts them as alive but the
-- summary. Times are microseconds of this server's clock, leases are milliseconds.
--
-- Arguments of every script: one with the caller's channel ('-' if the client is not subscribed), the ticket's time to
-- live, and how long an idle record is kept (both ms). Then, unless the script's header differs, there are six for each
-- claim: id, permits, limit, lease, repeated, owner.
--
-- The server creates all functions of a script anew with each call, and what costs most is each local that they use. So a
-- script answers the usual case before it includes this file, this file creates the functions of the queue only when a
-- waiter may have to be removed or granted, and there are no locals for constants and for what the server offers.
-- Whoever includes this file has a local 'clock', the reply to TIME, or nil if it has not asked.

local channel, ticket, keep = string.match(ARGV[1], '^(%S+) (%d+) (%d+)$')
local time = clock or redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local handed = {} -- grants handed to waiters of the calling client: id, counter, lease (ms)
local outbox -- what is published at the end of the script: command, channel, text; nil if nothing is

local function claim_at(i)
  local at = i * 6 - 4
  return { id = ARGV[at], permits = ARGV[at + 1] + 0, limit = ARGV[at + 2] + 0, lease = ARGV[at + 3] + 0,
    repeated = ARGV[at + 4], owner = ARGV[at + 5] }
end

local function put_grant(r, id, g)
  redis.call('HSET', r.key, id,
    string.format('%d %d %d %d %d %s\n%s', g.ends, g.permits, g.counter, g.since, g.lease, g.repeated, g.owner))
end

-- Returns nil if another program wrote the text.
local function waiter_of(text)
  local ends, permits, since, lease, repeated, client_channel, owner =
    string.match(text or '', '^(%d+) (%d+) (%d+) (%d+) ([01]) (%S+)\n(.*)$')
  return ends and math.max(ends, permits, since, lease) <= 2 ^ 53 and { ends = ends + 0, permits = permits + 0, since = since + 0, lease = lease + 0,
    repeated = repeated, channel = client_channel, owner = owner }
end

-- Returns nil if there is none, or if its ticket is over.
local function live_waiter(text)
  local w = text and waiter_of(text)
  return w and w.ends > now and w or nil
end

local function waiter_text(w)
  return string.format('%d %d %d %d %s %s\n%s', w.ends, w.permits, w.since, w.lease, w.repeated, w.channel, w.owner)
end

local function place_text(before, after, skipped)
  return before .. ' ' .. after .. (skipped and ' 1' or ' 0')
end

-- Lets the record live while a part of it does, for this long (ms).
local function prolong(r, life)
  local ends = now + life * 1000
  if not (r.kept and ends <= r.kept and r.kept <= 2 ^ 53) then
    r.kept = ends + keep * 1000
    redis.call('HSET', r.key, 'kept', string.format('%d', r.kept))
    redis.call('PEXPIRE', r.key, string.format('%d', life + 2 * keep))
  end
end

-- Writes the summary of a record; a part of the record may live for this long (ms). Then publishes: nobody may be
-- notified of a grant that a refused write has undone.
local function close(r, life)
  if not r.changed then
    return
  end
  r.changed = false
  prolong(r, life)
  local use = string.format('%d %d %d %d %d', r.granted, r.limit, r.ends, r.waiting, r.tombs)
  if r.waiting > 0 then
    r.queued = string.format('%s %s %s %d', r.front, r.back, r.next, r.skipped)
    redis.call('HSET', r.key, 'counter', r.counter, 'use', use, 'queue', r.queued)
  elseif r.granted > 0 or r.tombs > 0 then
    redis.call('HSET', r.key, 'counter', r.counter, 'use', use)
    if r.queued then
      redis.call('HDEL', r.key, 'queue')
    end
  else
    redis.call('HSET', r.key, 'counter', r.counter)
    redis.call('HDEL', r.key, 'use', 'queue')
  end
  for i = 1, outbox and #outbox or 0, 3 do
    redis.pcall(outbox[i], outbox[i + 1], outbox[i + 2])
  end
  outbox = nil
end

-- Ends the script, because another program has changed the record. What was done so far must agree with the summary. The
-- code of the error tells whether something was done about the claim that asks.
local function foreign(r, text)
  close(r, ticket)
  error((r.done and 'HOLDFAST-DAMAGED' or 'HOLDFAST-FOREIGN') .. ' key ' .. r.key .. ' was written by somebody else: '
    .. string.sub(text, 1, 60))
end

-- Reads what a request of this claim, if it is about one, needs. A script that has just read 'use' and 'kept' passes them.
local function open(key, id, state)
  local use, kept = unpack(state or redis.call('HMGET', key, 'use', 'kept'), 1, 2)
  local f = redis.call('HMGET', key, 'counter', 'queue', id or '-', '>' .. (id or '-'))
  local granted, limit, ends, waiting, tombs = string.match(use or '0 0 9007199254740992 0 0', '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
  local front, back, next, skipped = string.match(f[2] or '- - - 0', '^(%S+) (%S+) (%S+) (%d+)$')
  local r = { key = key, counter = f[1] or '0', kept = tonumber(kept), front = front, back = back, next = next,
    queued = f[2], changed = false, done = false,
    asking = id, grant = f[3], waiter = f[4] } -- the texts of the claim that asks, or false
  if not granted or math.max(granted, limit, ends, waiting, tombs) > 2 ^ 53 or granted - limit > 0
    or (granted == '0' and r.grant)
  then
    foreign(r, 'use ' .. use)
  elseif not front or skipped - waiting > 0 or (waiting == '0') ~= (front == '-') or (waiting == '0' and r.waiter) then
    foreign(r, 'queue ' .. (f[2] or 'is missing'))
  elseif not string.find(r.counter, '^%d+$') or r.counter - 2 ^ 53 > 0 then
    foreign(r, 'counter ' .. r.counter)
  end
  r.limit, r.granted, r.ends, r.waiting, r.tombs, r.skipped = limit + 0, granted + 0, ends + 0, waiting + 0, tombs + 0, skipped + 0
  return r
end

local function place(r, id)
  local text = redis.call('HGET', r.key, '@' .. id) or 'is missing'
  local before, after, skipped = string.match(text, '^(%S+) (%S+) ([01])$')
  if not before then
    foreign(r, '@' .. id .. ' ' .. text)
  end
  return before, after, skipped == '1'
end

local function grant_of(r, text)
  local ends, permits, counter, since, lease, repeated, owner =
    string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+) ([01])\n(.*)$')
  if not permits or math.max(ends, permits, counter, since, lease) > 2 ^ 53 then
    foreign(r, text)
  end
  return { permits = permits + 0, counter = counter + 0, since = since + 0, ends = ends + 0, lease = lease + 0,
    repeated = repeated, owner = owner }
end

local function next_counter(r)
  return math.max(r.counter + 1, now)
end

-- Writes a grant that lasts for this long (ms) from now, with this counter or, if it is nil, the next one.
local function grant(r, id, c, life, number)
  local counter, ends = number or next_counter(r), now + life * 1000
  put_grant(r, id, { permits = c.permits, counter = counter, since = now, ends = ends, lease = c.lease,
    repeated = c.repeated, owner = c.owner })
  r.counter, r.granted, r.ends, r.changed, r.done =
    string.format('%d', counter), r.granted + c.permits, math.min(r.ends, ends), true, r.done or id == r.asking
  return counter
end

local functions
local function queue()
  if not functions then
    -- include queue.lua
    functions = { settle = settle, admit = admit, remove = remove_waiter, sweep = sweep, publish = publish }
  end
  return functions
end

-- Grants to waiters in their order while they fit. Afterwards the next waiter is alive, or nothing more can be granted.
local function admit(r)
  if r.next ~= '-' and r.granted < r.limit then
    queue().admit(r)
  end
end

-- Removes what is over, as far as it matters, and grants to the waiters that fit. The waiter that asks may have moved to
-- the caller's channel.
local function settle(r, asking, moves)
  local over = (r.granted > 0 and r.ends <= now) or (r.tombs > 0 and r.tombs <= now)
  if over
    or (r.front ~= '-' and r.granted == 0)
    or (asking and r.waiter and (moves or r.skipped > 0))
    or (r.next ~= '-' and r.granted < r.limit)
  then
    queue().settle(r, over, asking, moves)
    if r.asking then
      r.grant, r.waiter = unpack(redis.call('HMGET', r.key, r.asking, '>' .. r.asking))
    end
  end
end

local function is_free(r)
  return r.granted == 0 and r.waiting == 0
end

-- Whether the claim can be granted now: it does not wait itself, no waiter is before it, and there are enough permits.
local function fits(r, c)
  return r.next == '-' and c.permits <= c.limit - r.granted and not (r.skipped > 0 and live_waiter(r.waiter))
end

local function has_tombstone(r, id)
  return r.tombs > 0 and (tonumber(redis.call('HGET', r.key, '!' .. id) or nil) or 0) > now
end

local function until_first(r)
  return r.granted > 0 and math.max(0, r.ends - now) or 0
end

local function answer(...)
  local reply = { ... }
  for i = 1, #handed do
    reply[#reply + 1] = handed[i]
  end
  return reply
end

