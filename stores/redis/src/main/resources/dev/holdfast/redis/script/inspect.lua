-- Returns all that is known of a resource.
--
-- KEYS  1 the record
-- ARGV  see record.lua; no claim
-- Reply {counter, limit, now, {id, grant, ...}, {id, position, end of the ticket, waiter, ...}, handed}
--       grants and waiters as record.lua describes them, in no order; the position of a skipped waiter is that in
--       the order of arrival
--       handed: id, counter, lease in ms of the caller's waiters that this call granted
-- Cost  O(grants + waiters)
-- include record.lua
local r = open(KEYS[1])
settle(r)
close(r, ticket)
local grants, waiters = {}, {}
if r.granted > 0 then
  local fields = redis.call('HGETALL', r.key)
  for i = 1, #fields, 2 do
    if string.find(fields[i], '.', 1, true) then
      grants[#grants + 1] = fields[i]
      grants[#grants + 1] = fields[i + 1]
    end
  end
end
if r.waiting > 0 then
  local order = redis.call('ZRANGE', r.order, 0, -1, 'WITHSCORES')
  for i = 1, #order, 2 do
    local text, ends = redis.call('HGET', r.claims, order[i]), redis.call('ZSCORE', r.ends, order[i])
    if text and ends then
      waiters[#waiters + 1] = order[i]
      waiters[#waiters + 1] = tonumber(order[i + 1]) % PASSED
      waiters[#waiters + 1] = tonumber(ends)
      waiters[#waiters + 1] = text
    end
  end
end
return { r.counter, r.limit, now, grants, waiters, handed }
