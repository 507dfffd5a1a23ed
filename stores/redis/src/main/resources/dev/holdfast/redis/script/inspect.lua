-- Returns all that is known of a resource.
--
-- KEYS  1 the record
-- ARGV  see record.lua; no claim
-- Reply {counter, limit, now, {id, grant, ...}, {id, waiter, ...}, handed}
--       grants in no order, and waiters in the order of arrival, as record.lua describes them
--       handed: id, counter, lease in ms of the caller's waiters that this call granted
-- Cost  O(grants + waiters)
-- include whole-numbers.lua
local clock
-- include record.lua
local r = open(KEYS[1])
settle(r)
close(r, ticket)
local grants, waiters, texts = {}, {}, {}
local fields = (r.granted > 0 or r.waiting > 0) and redis.call('HGETALL', r.key) or {}
for i = 1, #fields, 2 do
  local field = fields[i]
  texts[field] = fields[i + 1]
  if string.find(field, '^[^>@!].*%.') then
    grants[#grants + 1] = field
    grants[#grants + 1] = texts[field]
  end
end
local id, steps = r.front, 0
while id ~= '-' do
  steps = steps + 1
  local w = waiter_of(texts['>' .. id])
  if w and w.ends > now then
    waiters[#waiters + 1] = id
    waiters[#waiters + 1] = texts['>' .. id]
  end
  id = steps <= r.waiting and string.match(texts['@' .. id] or '', '^%S+ (%S+) ') or foreign(r, 'the queue ends after ' .. id)
end
return { r.counter + 0, r.limit, now, grants, waiters, handed }
