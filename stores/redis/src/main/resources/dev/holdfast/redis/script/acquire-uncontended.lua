-- Included first by acquire.lua and enqueue.lua: grants a name that no claim uses.
--
-- It comes before record.lua, so that the common request does not even create that file's functions. It needs three
-- commands. A wait set (limit 0) is never granted; no other claim has more permits than its limit.
local state, clock = redis.call('HMGET', KEYS[1], 'use', 'kept', 'counter')
local last = tonumber(state[3] or 0)
if not state[1] and ARGV[4] ~= '0' and last and last <= 2 ^ 53 then
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  local counter = now > last and now or last + 1
  -- include grant-uncontended.lua
  return counter
end
