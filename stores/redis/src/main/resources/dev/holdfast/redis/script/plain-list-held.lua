-- Finds those among some records of time stamps whose grant is live, whatever other programs have written into the lock.
-- Changes nothing.
--
-- KEYS  the keys, which may be of any type
-- Reply the keys of the records
-- Cost  O(keys)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local found = {}
for _, key in ipairs(KEYS) do
  local ends = redis.pcall('HGET', key, 'until')
  if type(ends) == 'string' and (tonumber(ends) or 0) > now then
    found[#found + 1] = key
  end
end
return found
