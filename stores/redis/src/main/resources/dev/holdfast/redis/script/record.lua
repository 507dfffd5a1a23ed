-- Included by the scripts of the operations: the record of one resource, and the transitions with which every
-- operation begins. It implements the same rules as dev.holdfast.store.ResourceRecord does in Java.
--
-- Keys of one resource (K = PREFIX{NAME}, so that they share a hash slot):
--   K         hash: counter; use = 'granted limit first waiting tombs', absent if no claim uses the name: the sum of
--             the permits, the limit, no grant ends before this time, how many claims wait, when the last tombstone
--             ends;
--             arrivals = the last position in the order of arrival that was assigned;
--             kept = only a grant that ends later than this must prolong the life of K, so that the common request
--             need not; K lives for at least the time of keeping after this;
--             and a field for each grant: id -> 'ends permits counter since lease repeated\nowner'
--   K:order   sorted set of the waiters: id -> position in the order of arrival (+ PASSED while its client is not
--             subscribed)
--   K:ends    sorted set of the waiters: id -> when its ticket ends
--   K:claims  hash of the waiters: id -> 'permits since lease repeated channel\nowner'
--   K:tombs   sorted set of the released claims whose acquire may still arrive: id -> until when it is refused
-- A key that would be empty is absent. Times are microseconds of this server's clock, leases are milliseconds.
--
-- Arguments of every script: one with the caller's channel, the ticket's time to live, and how long an idle record
-- is kept (both ms). Then, unless the script's header differs, there are six for each claim: id, permits, limit,
-- lease, repeated, owner.
local PASSED = 2 ^ 52
local NEVER = 2 ^ 53
local MAX_QUEUE, MAX_TOMBS, CHUNK = 10000, 1000, 1000

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

local function grant_of(key, text)
  local ends, permits, counter, since, lease, repeated, owner =
    string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+) ([01])\n(.*)$')
  if not permits then
    foreign(key, text)
  end
  return { permits = tonumber(permits), counter = tonumber(counter), since = tonumber(since), ends = tonumber(ends),
    lease = tonumber(lease), repeated = repeated, owner = owner }
end

local function grant_text(g)
  return string.format('%.0f %.0f %.0f %.0f %.0f %s\n%s', g.ends, g.permits, g.counter, g.since, g.lease, g.repeated, g.owner)
end

-- Returns nil if another program wrote the text.
local function waiter_of(text)
  local permits, since, lease, repeated, client_channel, owner = string.match(text, '^(%d+) (%d+) (%d+) ([01]) (%S+)\n(.*)$')
  return permits and { permits = tonumber(permits), since = tonumber(since), lease = tonumber(lease), repeated = repeated,
    channel = client_channel, owner = owner }
end

local function waiter_text(w)
  return string.format('%.0f %.0f %.0f %s %s\n%s', w.permits, w.since, w.lease, w.repeated, w.channel, w.owner)
end

local function open(key)
  local f = redis.call('HMGET', key, 'counter', 'use', 'kept')
  local granted, limit, first, waiting, tombs = 0, 0, NEVER, 0, 0
  if f[2] then
    granted, limit, first, waiting, tombs = string.match(f[2], '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
    if not granted then
      foreign(key, f[2])
    end
  end
  return { key = key, order = key .. ':order', ends = key .. ':ends', claims = key .. ':claims', graves = key .. ':tombs',
    counter = tonumber(f[1]) or 0, limit = tonumber(limit), granted = tonumber(granted), first = tonumber(first),
    waiting = tonumber(waiting), tombs = tonumber(tombs), kept = tonumber(f[3]) or 0, changed = false }
end

-- Writes the summary of a record; a part of the record may live for this long (ms). Then publishes: nobody may hear
-- of a grant that a refused write has undone.
local function close(r, life)
  if not r.changed then
    return
  end
  local ends = now + life * 1000
  if ends > r.kept then
    redis.call('HSET', r.key, 'kept', whole(ends + keep * 1000))
    redis.call('PEXPIRE', r.key, whole(life + 2 * keep))
  end
  if r.granted == 0 and r.waiting == 0 and r.tombs == 0 then
    redis.call('HSET', r.key, 'counter', whole(r.counter))
    redis.call('HDEL', r.key, 'use')
  else
    redis.call('HSET', r.key, 'counter', whole(r.counter), 'use',
      string.format('%.0f %.0f %.0f %.0f %.0f', r.granted, r.limit, r.first, r.waiting, r.tombs))
  end
  for i = 1, #outbox, 3 do
    redis.pcall(outbox[i], outbox[i + 1], outbox[i + 2])
  end
  outbox = {}
end

-- All grants are read only when one of them may be over, because 'first' is never later than the first end.
local function drop_grants(r)
  if r.granted == 0 or r.first > now then
    return
  end
  local fields, over = redis.call('HGETALL', r.key), {}
  r.granted, r.first, r.changed = 0, NEVER, true
  for i = 1, #fields, 2 do
    if string.find(fields[i], '.', 1, true) then
      local g = grant_of(r.key, fields[i + 1])
      if g.ends <= now then
        over[#over + 1] = fields[i]
      else
        r.granted = r.granted + g.permits
        r.first = math.min(r.first, g.ends)
      end
    end
  end
  for i = 1, #over do
    redis.call('HDEL', r.key, over[i])
  end
end

local function drop_waiters(r)
  if r.waiting == 0 then
    return
  end
  local before = r.waiting
  repeat
    local ids = redis.call('ZRANGEBYSCORE', r.ends, '-inf', whole(now), 'LIMIT', 0, CHUNK)
    if #ids > 0 then
      redis.call('ZREM', r.order, unpack(ids))
      redis.call('ZREM', r.ends, unpack(ids))
      redis.call('HDEL', r.claims, unpack(ids))
    end
  until #ids < CHUNK
  -- The waiters are counted again, so that a queue of which a part was evicted does not block the lock for ever.
  r.waiting = redis.call('ZCARD', r.ends)
  r.changed = r.changed or r.waiting ~= before
end

local function drop_tombs(r)
  if r.tombs > 0 and r.tombs <= now then
    redis.call('DEL', r.graves)
    r.tombs, r.changed = 0, true
  end
end

-- Writes a grant that lasts for this long (ms) from now.
local function grant(r, id, c, life)
  local counter, ends = math.max(r.counter + 1, now), now + life * 1000
  redis.call('HSET', r.key, id, grant_text({ permits = c.permits, counter = counter, since = now, ends = ends, lease = c.lease,
    repeated = c.repeated, owner = c.owner }))
  r.counter, r.granted, r.first, r.changed = counter, r.granted + c.permits, math.min(r.first, ends), true
  return counter
end

local function remove_waiter(r, id)
  redis.call('ZREM', r.order, id)
  redis.call('ZREM', r.ends, id)
  redis.call('HDEL', r.claims, id)
  r.waiting, r.changed = r.waiting - 1, true
end

-- include subscribers.lua

-- Publishes a text at the end of the script. Returns whether the channel has a subscriber.
local function publish(to, text)
  if commands[to] == nil then
    commands[to] = subscribers(to) or false
  end
  if not commands[to] then
    return false
  end
  for _, word in ipairs({ commands[to], to, text }) do
    outbox[#outbox + 1] = word
  end
  return true
end

local function head_of(r)
  local head = redis.call('ZRANGE', r.order, 0, 0, 'WITHSCORES')
  local position = tonumber(head[2])
  if position and position < PASSED then
    return head[1], position
  end
end

-- Grants to waiters in their order while they fit. A waiter whose client is not subscribed is skipped and keeps its
-- position.
local function admit(r)
  while r.waiting > 0 and r.granted < r.limit do
    local id, position = head_of(r)
    if not id then
      return
    end
    local text = redis.call('HGET', r.claims, id)
    local w = text and waiter_of(text)
    if not w then
      -- A part of the queue was evicted or overwritten. An error here would leave grants that the summary does not
      -- count.
      remove_waiter(r, id)
    else
      if w.permits > r.limit - r.granted then
        return
      end
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
        redis.call('ZADD', r.order, whole(position + PASSED), id)
      end
    end
  end
end

-- A waiter that asks shows that its client is alive, so none of that client's waiters up to this one is skipped any
-- longer. All of them come back at once; otherwise a later one that asks first would be served before an earlier
-- one.
local function revive(r, position, client_channel)
  local passed = redis.call('ZRANGEBYSCORE', r.order, whole(PASSED), whole(position), 'WITHSCORES', 'LIMIT', 0, CHUNK)
  for i = 1, #passed, 2 do
    local text = redis.call('HGET', r.claims, passed[i])
    local w = text and waiter_of(text)
    if w and w.channel == client_channel then
      redis.call('ZADD', r.order, whole(passed[i + 1] - PASSED), passed[i])
    end
  end
end

-- Removes what is over and grants to the waiters that fit. The waiter that asks may have moved to the caller's
-- channel.
local function settle(r, asking, moves)
  drop_grants(r)
  drop_waiters(r)
  drop_tombs(r)
  local position = asking and r.waiting > 0 and tonumber(redis.call('ZSCORE', r.order, asking) or nil)
  if position and (moves or position >= PASSED) then
    local text = redis.call('HGET', r.claims, asking)
    local w = text and waiter_of(text)
    if w and moves then
      w.channel = channel
      redis.call('HSET', r.claims, asking, waiter_text(w))
    end
    if position >= PASSED then
      redis.call('ZADD', r.order, whole(position - PASSED), asking)
      if w then
        revive(r, position, w.channel)
        r.unreachable = not subscribers(w.channel)
      end
    end
  end
  admit(r)
end

local function is_free(r)
  return r.granted == 0 and r.waiting == 0
end

local function fits(r, c)
  return c.permits <= c.limit - r.granted
end

local function is_buried(r, id)
  return r.tombs > 0 and (tonumber(redis.call('ZSCORE', r.graves, id) or nil) or 0) > now
end

local function bury(r, c)
  local ends = now + c.lease * 1000
  redis.call('ZREMRANGEBYSCORE', r.graves, '-inf', whole(now))
  redis.call('ZADD', r.graves, whole(ends), c.id)
  redis.call('ZREMRANGEBYRANK', r.graves, 0, -1 - MAX_TOMBS)
  if redis.call('PTTL', r.graves) < c.lease then
    redis.call('PEXPIRE', r.graves, c.lease + 1000)
  end
  r.tombs, r.changed = math.max(r.tombs, ends), true
end

local function until_first(r)
  return r.granted > 0 and math.max(0, r.first - now) or 0
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
  redis.call('HSET', r.key, c.id, grant_text(g))
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
  redis.call('HSET', r.key, c.id, grant_text(g))
  if sole then
    r.first = g.ends
  end
  r.changed = true
end

-- The keys of a queue live as long as any waiter refreshes its ticket.
local function keep_queue(r)
  if redis.call('PTTL', r.ends) < keep / 2 then
    redis.call('PEXPIRE', r.order, keep)
    redis.call('PEXPIRE', r.ends, keep)
    redis.call('PEXPIRE', r.claims, keep)
  end
end

-- Extends a grant or refreshes a ticket. Returns a code and two numbers: 1 held (counter, what is left in
-- microseconds), 2 waiting (position, microseconds until the first grant ends), 8 waiting, too, but it was skipped and
-- nobody is subscribed to its channel at this server, 5 gone (0 expired, 1 taken, 2 released).
local function renew(r, c)
  local text = redis.call('HGET', r.key, c.id)
  if text then
    local g = grant_of(r.key, text)
    extend(r, g, c)
    return 1, g.counter, g.ends - now
  end
  text = r.waiting > 0 and redis.call('HGET', r.claims, c.id)
  local w = text and waiter_of(text)
  if w then
    w.lease, w.repeated, w.owner = c.lease, c.repeated, c.owner
    redis.call('HSET', r.claims, c.id, waiter_text(w))
    redis.call('ZADD', r.ends, whole(now + ticket * 1000), c.id)
    keep_queue(r)
    r.changed = true
    local rank = redis.call('ZRANK', r.order, c.id)
    if not rank then
      -- The order was evicted or removed. It begins again with those who ask.
      redis.call('ZADD', r.order, redis.call('HINCRBY', r.key, 'arrivals', 1), c.id)
      rank = redis.call('ZRANK', r.order, c.id)
    end
    return r.unreachable and 8 or 2, rank, until_first(r)
  end
  if is_buried(r, c.id) then
    return 5, 2, 0
  end
  if r.granted > 0 and (r.limit ~= c.limit or not fits(r, c)) then
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
