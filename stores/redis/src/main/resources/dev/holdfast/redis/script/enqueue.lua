-- Grants the claim now, or adds it to the queue. A repeated enqueue keeps its position, and moves the waiter to the
-- caller's channel.
--
-- KEYS  1 the record
-- ARGV  see record.lua; one claim
-- Reply an integer: granted for the whole lease, and this is the counter
--       or {9, counter, left in us}   granted by this call
--          {1, counter, left in us}   holds already
--          {2, position, us until the first end} waits
--          {8, position, us until the first end} waits; nobody is subscribed to its channel here
--          {3, limit in use, 0}       in use as another kind
--          {5, 2, 0}                  was released before it arrived
--          {6, 0, 0}                  the queue is full
--       each followed by id, counter, lease in ms of the caller's waiters that this call granted
-- Cost  O(1), 3 commands on a free name; more for each waiter that is over, or is skipped, before this one; O(grants +
--       waiters) when a grant may be over, or the queue is full
-- include acquire-uncontended.lua
-- include record.lua
-- include renewal.lua

-- Waiters that are over may fill a queue. The search for them takes some milliseconds, so it is not made at each call.
local function is_full(r)
  local MAX_QUEUE, SWEEP_PAUSE = 10000, 1000000
  if r.waiting >= MAX_QUEUE and not (math.abs(now - (tonumber(redis.call('HGET', r.key, 'swept') or nil) or 0)) <= SWEEP_PAUSE) then
    redis.call('HSET', r.key, 'swept', string.format('%d', now))
    queue().sweep(r)
  end
  return r.waiting >= MAX_QUEUE
end

local function add_waiter(r, id, w)
  local back = r.back
  if back == '-' then
    r.front = id
    redis.call('HSET', r.key, '>' .. id, waiter_text(w), '@' .. id, place_text('-', '-', false))
  else
    local before, _, skipped = place(r, back)
    redis.call('HSET', r.key, '@' .. back, place_text(before, id, skipped), '>' .. id, waiter_text(w),
      '@' .. id, place_text(back, '-', false))
  end
  if r.next == '-' then
    r.next = id
  end
  r.back, r.waiting, r.changed, r.done = id, r.waiting + 1, true, true
  return back
end

local c, r = claim_at(1), open(KEYS[1], ARGV[2], state)
settle(r, c.id, c.repeated == '1')
local code, a, b = renew(r, c)
if code == 5 and a ~= 2 then
  if not is_free(r) and r.limit ~= c.limit then
    code, a, b = 3, r.limit, 0
  elseif fits(r, c) then
    r.limit = c.limit
    code, a, b = 9, grant(r, c.id, c, c.lease), c.lease * 1000
  elseif is_full(r) then
    code, a, b = 6, 0, 0
  else
    local before = add_waiter(r, c.id, { ends = now + ticket * 1000, permits = c.permits, since = now, lease = c.lease,
      repeated = c.repeated, channel = channel, owner = c.owner })
    r.limit = c.limit
    code, a, b = 2, position(r, c.id, before), until_first(r)
  end
end
close(r, c.lease + ticket)
return answer(code, a, b)
