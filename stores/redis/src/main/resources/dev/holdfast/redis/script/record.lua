-- Included by the scripts of the operations: the record of one resource, and the transitions with which every
-- operation begins. It implements the same rules as dev.holdfast.store.ResourceRecord does in Java.
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
local NEVER = 2 ^ 53
local NONE = '-'
local GRANT = '^[^>@!].*%.' -- fits the fields of grants
local MAX_QUEUE, MAX_TOMBS = 10000, 1000
local WALK = 64 -- and no further back than this, if those between are skipped
local NEAR = 8 -- positions are counted up to this one, as dev.holdfast.spi.Renewed.Waiting says
local SWEEP_PAUSE = 1000000

local channel, ticket, keep = string.match(ARGV[1], '^(%S+) (%d+) (%d+)$')
ticket, keep = tonumber(ticket), tonumber(keep)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local handed = {} -- grants handed to waiters of the calling client: id, counter, lease (ms)
local outbox = {} -- what is published at the end of the script: command, channel, text
local commands = {} -- for each channel the command that publishes on it, or false if nobody is subscribed

local function whole(number)
  return string.format('%.0f', number)
end

local function claim_at(i)
  local at = i * 6 - 4
  return { id = ARGV[at], permits = tonumber(ARGV[at + 1]), limit = tonumber(ARGV[at + 2]), lease = tonumber(ARGV[at + 3]),
    repeated = ARGV[at + 4], owner = ARGV[at + 5] }
end

local function foreign(key, text)
  error('HOLDFAST-FOREIGN key ' .. key .. ' was written by somebody else: ' .. string.sub(text, 1, 60))
end

local function put_grant(r, id, g)
  redis.call('HSET', r.key, id,
    string.format('%.0f %.0f %.0f %.0f %.0f %s\n%s', g.ends, g.permits, g.counter, g.since, g.lease, g.repeated, g.owner))
end

-- Returns nil if another program wrote the text: an error in the middle of a transition would leave grants that the
-- summary does not count.
local function waiter_of(text)
  local ends, permits, since, lease, repeated, client_channel, owner =
    string.match(text or '', '^(%d+) (%d+) (%d+) (%d+) ([01]) (%S+)\n(.*)$')
  return ends and { ends = tonumber(ends), permits = tonumber(permits), since = tonumber(since), lease = tonumber(lease),
    repeated = repeated, channel = client_channel, owner = owner }
end

-- Returns nil if there is none, or if its ticket is over; then whether there is one nevertheless.
local function waiter(r, id)
  local text = redis.call('HGET', r.key, '>' .. id)
  local w = waiter_of(text)
  if w and w.ends > now then
    return w
  end
  return nil, text
end

local function waiter_text(w)
  return string.format('%.0f %.0f %.0f %.0f %s %s\n%s', w.ends, w.permits, w.since, w.lease, w.repeated, w.channel, w.owner)
end

local function place(r, id)
  local before, after, skipped = string.match(redis.call('HGET', r.key, '@' .. id) or '', '^(%S+) (%S+) ([01])$')
  return before or NONE, after or NONE, skipped == '1'
end

local function place_text(before, after, skipped)
  return before .. ' ' .. after .. (skipped and ' 1' or ' 0')
end

local function put_place(r, id, ...)
  redis.call('HSET', r.key, '@' .. id, place_text(...))
end

local function open(key)
  local f = redis.call('HMGET', key, 'counter', 'use', 'kept', 'queue')
  local granted, limit, ends, waiting, tombs = 0, 0, NEVER, 0, 0
  if f[2] then
    granted, limit, ends, waiting, tombs = string.match(f[2], '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
    if not granted then
      foreign(key, f[2])
    end
  end
  local front, back, next, skipped = string.match(f[4] or '', '^(%S+) (%S+) (%S+) (%d+)$')
  return { key = key, counter = tonumber(f[1]) or 0, limit = tonumber(limit), granted = tonumber(granted),
    ends = tonumber(ends), waiting = tonumber(waiting), tombs = tonumber(tombs), kept = tonumber(f[3]) or 0,
    front = front or NONE, back = back or NONE, next = next or NONE, skipped = tonumber(skipped) or 0, changed = false }
end

-- Writes the summary of a record; a part of the record may live for this long (ms). Then publishes: nobody may be
-- notified of a grant that a refused write has undone.
local function close(r, life)
  if not r.changed then
    return
  end
  local ends = now + life * 1000
  r.changed = false
  if ends > r.kept then
    r.kept = ends + keep * 1000
    redis.call('HSET', r.key, 'kept', whole(r.kept))
    redis.call('PEXPIRE', r.key, whole(life + 2 * keep))
  end
  local use = string.format('%.0f %.0f %.0f %.0f %.0f', r.granted, r.limit, r.ends, r.waiting, r.tombs)
  if r.waiting > 0 then
    redis.call('HSET', r.key, 'counter', whole(r.counter), 'use', use,
      'queue', r.front .. ' ' .. r.back .. ' ' .. r.next .. ' ' .. whole(r.skipped))
  elseif r.granted > 0 or r.tombs > 0 then
    redis.call('HSET', r.key, 'counter', whole(r.counter), 'use', use)
    redis.call('HDEL', r.key, 'queue')
  else
    redis.call('HSET', r.key, 'counter', whole(r.counter))
    redis.call('HDEL', r.key, 'use', 'queue')
  end
  for i = 1, #outbox, 3 do
    redis.pcall(outbox[i], outbox[i + 1], outbox[i + 2])
  end
  outbox = {}
end

local function grant_of(r, text)
  local ends, permits, counter, since, lease, repeated, owner =
    string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+) ([01])\n(.*)$')
  if not permits then
    close(r, ticket) -- What was done so far must agree with the summary.
    foreign(r.key, text)
  end
  return { permits = tonumber(permits), counter = tonumber(counter), since = tonumber(since), ends = tonumber(ends),
    lease = tonumber(lease), repeated = repeated, owner = owner }
end

-- Returns the first waiter, from this one on, that is not skipped.
local function unskipped(r, id)
  while id ~= NONE and r.skipped > 0 do
    local _, after, skipped = place(r, id)
    if not skipped then
      break
    end
    id = after
  end
  return id
end

local function add_waiter(r, id, w)
  if r.back == NONE then
    r.front = id
  else
    local before, _, skipped = place(r, r.back)
    put_place(r, r.back, before, id, skipped)
  end
  redis.call('HSET', r.key, '>' .. id, waiter_text(w), '@' .. id, place_text(r.back, NONE, false))
  if r.next == NONE then
    r.next = id
  end
  r.back, r.waiting, r.changed = id, r.waiting + 1, true
end

local function remove_waiter(r, id)
  local before, after, skipped = place(r, id)
  redis.call('HDEL', r.key, '>' .. id, '@' .. id)
  r.waiting, r.changed = r.waiting - 1, true
  if skipped then
    r.skipped = r.skipped - 1
  end
  if id == r.next then
    r.next = unskipped(r, after)
  end
  if id == r.front then
    r.front, before = after, NONE
  else
    local first, _, other = place(r, before)
    put_place(r, before, first, after, other)
    if after ~= NONE then
      local _, last, another = place(r, after)
      put_place(r, after, before, last, another)
    end
  end
  if id == r.back then
    r.back = before
  end
end

-- Keeps the tombstones that end last, if there are too many. Returns how many there are.
local function sweep_tombs(r, tombs)
  table.sort(tombs, function(a, b) return a.ends > b.ends end)
  local live = 0
  for i, tomb in ipairs(tombs) do
    if tomb.ends <= now or (#tombs > MAX_TOMBS and i > MAX_TOMBS / 2) then
      redis.call('HDEL', r.key, tomb.field)
    else
      live = live + 1
    end
  end
  r.tombs = live > 0 and tombs[1].ends or 0
  if live > 0 then
    redis.call('HSET', r.key, 'graves', live)
  else
    redis.call('HDEL', r.key, 'graves')
  end
end

-- Removes all that is over and counts again. It reads the whole record.
local function sweep(r)
  local fields, over, expired, tombs = redis.call('HGETALL', r.key), {}, {}, {}
  local granted, ends = 0, NEVER
  for i = 1, #fields, 2 do
    local field, text = fields[i], fields[i + 1]
    local kind = string.sub(field, 1, 1)
    if kind == '!' then
      tombs[#tombs + 1] = { field = field, ends = tonumber(text) or 0 }
    elseif kind == '>' then
      local w = waiter_of(text)
      if not w or w.ends <= now then
        expired[#expired + 1] = string.sub(field, 2)
      end
    elseif string.find(field, GRANT) then
      local g = grant_of(r, text)
      if g.ends <= now then
        over[#over + 1] = field
      else
        granted, ends = granted + g.permits, math.min(ends, g.ends)
      end
    end
  end
  r.granted, r.ends, r.changed = granted, ends, true
  for _, id in ipairs(over) do
    redis.call('HDEL', r.key, id)
  end
  for _, id in ipairs(expired) do
    remove_waiter(r, id)
  end
  sweep_tombs(r, tombs)
end

-- Writes a grant that lasts for this long (ms) from now.
local function grant(r, id, c, life)
  local counter, ends = math.max(r.counter + 1, now), now + life * 1000
  put_grant(r, id, { permits = c.permits, counter = counter, since = now, ends = ends, lease = c.lease,
    repeated = c.repeated, owner = c.owner })
  r.counter, r.granted, r.ends, r.changed = counter, r.granted + c.permits, math.min(r.ends, ends), true
  return counter
end

-- include subscribers.lua

local function has_subscriber(to)
  if commands[to] == nil then
    commands[to] = subscribers(to) or false
  end
  return commands[to] and true
end

-- Publishes a text at the end of the script. Returns whether the channel has a subscriber.
local function publish(to, text)
  if not has_subscriber(to) then
    return false
  end
  for _, word in ipairs({ commands[to], to, text }) do
    outbox[#outbox + 1] = word
  end
  return true
end

-- A waiter whose client is not subscribed keeps its place, and is passed over.
local function skip(r, id)
  local before, after = place(r, id)
  put_place(r, id, before, after, true)
  r.skipped, r.changed = r.skipped + 1, true
  r.next = unskipped(r, after)
end

-- Grants to waiters in their order while they fit. Afterwards the next waiter is alive, or nothing more can be granted.
local function admit(r)
  while r.next ~= NONE and r.granted < r.limit do
    local id = r.next
    local w = waiter(r, id)
    if not w then
      remove_waiter(r, id)
    elseif w.permits > r.limit - r.granted then
      return
    else
      local life = math.min(ticket, w.lease)
      local counter = math.max(r.counter + 1, now)
      if w.channel == channel then
        handed[#handed + 1] = id
        handed[#handed + 1] = counter
        handed[#handed + 1] = life
      end
      if w.channel == channel or publish(w.channel, string.format('granted %s %.0f %.0f', id, counter, life)) then
        remove_waiter(r, id)
        grant(r, id, w, life)
      else
        skip(r, id)
      end
    end
  end
end

-- A waiter that asks shows that its client is alive, so none of that client's waiters is skipped any longer. All of them
-- come back at once; otherwise a later one that asks first would be served before an earlier one. So do those of other
-- clients that are subscribed again, which saves a walk for each of these clients.
local function revive(r, client_channel)
  local id, left, next = r.front, r.skipped, NONE
  while id ~= NONE and left > 0 do
    local before, after, skipped = place(r, id)
    if skipped then
      left = left - 1
      local w = waiter(r, id)
      if w and (w.channel == client_channel or has_subscriber(w.channel)) then
        put_place(r, id, before, after, false)
        r.skipped, r.changed, skipped = r.skipped - 1, true, false
      end
    end
    if not skipped and next == NONE then
      next = id
    end
    id = after
  end
  r.next = next == NONE and r.next or next
end

-- The waiter that asks may have moved to the caller's channel.
local function heed(r, asking, moves)
  local w = waiter(r, asking)
  if not w then
    return
  end
  if moves and w.channel ~= channel then
    w.channel = channel
    redis.call('HSET', r.key, '>' .. asking, waiter_text(w))
  end
  local _, _, skipped = place(r, asking)
  if skipped then
    revive(r, w.channel)
    r.unreachable = not has_subscriber(w.channel)
  end
end

-- Removes what is over, as far as it matters, and grants to the waiters that fit.
local function settle(r, asking, moves)
  if (r.granted > 0 and r.ends <= now) or (r.tombs > 0 and r.tombs <= now) then
    sweep(r)
  end
  -- Waiters that are over must not keep a name in use.
  while r.granted == 0 and r.front ~= NONE and not waiter(r, r.front) do
    remove_waiter(r, r.front)
  end
  if asking and (moves or r.skipped > 0) then
    heed(r, asking, moves)
  end
  admit(r)
end

local function is_free(r)
  return r.granted == 0 and r.waiting == 0
end

-- Whether the claim can be granted now: it does not wait itself, no waiter is before it, and there are enough permits.
local function fits(r, c)
  return r.next == NONE and c.permits <= c.limit - r.granted and not (r.skipped > 0 and waiter(r, c.id))
end

-- Waiters that are over may fill a queue. The search for them takes some milliseconds, so it is not made at each call.
local function is_full(r)
  if r.waiting >= MAX_QUEUE and math.abs(now - (tonumber(redis.call('HGET', r.key, 'swept') or nil) or 0)) > SWEEP_PAUSE then
    redis.call('HSET', r.key, 'swept', whole(now))
    sweep(r)
  end
  return r.waiting >= MAX_QUEUE
end

local function is_buried(r, id)
  return r.tombs > 0 and (tonumber(redis.call('HGET', r.key, '!' .. id) or nil) or 0) > now
end

local function bury(r, c)
  local ends = now + c.lease * 1000
  -- The first write needs no memory; see renew.lua.
  local another = 1 - redis.call('HDEL', r.key, '!' .. c.id)
  redis.call('HSET', r.key, '!' .. c.id, whole(ends))
  r.tombs, r.changed = math.max(r.tombs, ends), true
  if redis.call('HINCRBY', r.key, 'graves', another) > MAX_TOMBS then
    sweep(r)
  end
end

local function until_first(r)
  return r.granted > 0 and math.max(0, r.ends - now) or 0
end

-- Shrinks the grant of a claim that asks for fewer permits than it holds. Returns nil if the grant cannot be
-- changed to what the claim asks for.
local function resize(r, g, c)
  if c.permits > g.permits or c.limit ~= r.limit then
    return nil
  end
  local fewer = g.permits - c.permits
  g.permits = c.permits
  -- Written also if it is unchanged: newer servers count acknowledgements from the last write of the connection, so
  -- that WAIT after a call that has written nothing would confirm an older one.
  put_grant(r, c.id, g)
  if fewer > 0 then
    r.granted, r.changed = r.granted - fewer, true
    admit(r)
  end
  return g
end

local function extend(r, g, c)
  local sole = r.granted == g.permits
  g.ends = math.max(g.ends, now + c.lease * 1000)
  g.lease, g.repeated, g.owner = c.lease, c.repeated, c.owner
  put_grant(r, c.id, g)
  if sole then
    r.ends = g.ends
  end
  r.changed = true
end

-- How many wait before this one and are not skipped, counted up to NEAR. Behind many skipped ones it is NEAR.
local function position(r, id)
  local count, before, steps = 0, place(r, id), 0
  while id ~= r.front and before ~= NONE and count < NEAR do
    steps = steps + 1
    if steps > WALK then
      return NEAR
    end
    local f = redis.call('HMGET', r.key, '>' .. before, '@' .. before)
    local ends = tonumber(string.match(f[1] or '', '^%d+'))
    if ends and ends > now then
      id = before
      before = string.match(f[2] or '', '^%S+') or NONE
      count = string.sub(f[2] or '', -1) == '1' and count or count + 1
    else
      remove_waiter(r, before)
      before = place(r, id)
    end
  end
  return count
end

-- Extends a grant or refreshes a ticket. Returns a code and two numbers: 1 held (counter, what is left in
-- microseconds), 2 waiting (position, microseconds until the first grant ends), 8 waiting, too, but it was skipped and
-- nobody is subscribed to its channel at this server, 5 gone (0 expired, 1 taken, 2 released).
local function renew(r, c)
  local text = redis.call('HGET', r.key, c.id)
  if text then
    local g = grant_of(r, text)
    extend(r, g, c)
    return 1, g.counter, g.ends - now
  end
  local w, over
  if r.waiting > 0 then
    w, over = waiter(r, c.id)
  end
  if w then
    w.ends, w.lease, w.repeated, w.owner = now + ticket * 1000, c.lease, c.repeated, c.owner
    redis.call('HSET', r.key, '>' .. c.id, waiter_text(w))
    r.changed = true
    return r.unreachable and 8 or 2, position(r, c.id), until_first(r)
  end
  if over then
    remove_waiter(r, c.id)
  end
  if is_buried(r, c.id) then
    return 5, 2, 0
  end
  if r.granted > 0 and (r.limit ~= c.limit or c.permits > c.limit - r.granted) then
    return 5, 1, 0
  end
  return 5, 0, 0
end

local function answer(...)
  local reply = { ... }
  for i = 1, #handed do
    reply[#reply + 1] = handed[i]
  end
  return reply
end
