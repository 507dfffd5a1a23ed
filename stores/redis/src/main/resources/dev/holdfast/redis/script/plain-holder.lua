-- Included by plain-hash.lua and plain-take-hash.lua.
--
-- Returns who holds the lock, or nil if it is free; then whether the key is an exclusive lock, or free.
local function holder(key)
  local count = redis.call('HLEN', key)
  local field = count == 1 and redis.call('HKEYS', key)[1] or nil
  return field, count == 0 or field and (string.find(field, ':%-?%d+$') or string.find(field, '^[%w_-]+%.%w+$'))
end
