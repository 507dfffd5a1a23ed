-- Grants the claim now, or adds it to the queue. A repeated enqueue keeps its position, and moves the waiter to the
-- caller's channel.
--
-- KEYS  1 the record
-- ARGV  see record.lua; one claim
-- Reply an integer: granted for the whole lease, and this is the counter
--       or {1, counter, left in us}   holds
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
local c, r = claim_at(1), open(KEYS[1])
settle(r, c.id, c.repeated == '1')
local code, a, b = renew(r, c)
if code == 5 and a ~= 2 then
  if not is_free(r) and r.limit ~= c.limit then
    code, a, b = 3, r.limit, 0
  elseif fits(r, c) then
    r.limit = c.limit
    code, a, b = 1, grant(r, c.id, c, c.lease), c.lease * 1000
  elseif is_full(r) then
    code, a, b = 6, 0, 0
  else
    add_waiter(r, c.id, { ends = now + ticket * 1000, permits = c.permits, since = now, lease = c.lease,
      repeated = c.repeated, channel = channel, owner = c.owner })
    r.limit = c.limit
    code, a, b = 2, position(r, c.id), until_first(r)
  end
end
close(r, c.lease + ticket)
return answer(code, a, b)
