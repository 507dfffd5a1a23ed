-- Included first by acquire.lua and enqueue.lua: grants a name that no claim uses.
--
-- It comes before record.lua, so that the common request does not even create that file's functions. It needs three
-- commands. A wait set (limit 0) is never granted; no other claim has more permits than its limit.
local state, clock = redis.call('HMGET', KEYS[1], 'use', 'kept', 'counter')
local last = tonumber(state[3] or 0)
if not state[1] and ARGV[4] ~= '0' and last and last <= 2 ^ 53 then
  local format, time = string.format, redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  local ends, kept = now + ARGV[5] * 1000, tonumber(state[2])
  local counter = now > last and now or last + 1
  local since, first = format('%d', now), format('%d', ends)
  local number = counter == now and since or format('%d', counter)
  redis.call('HSET', KEYS[1], 'counter', number, 'use', ARGV[3] .. ' ' .. ARGV[4] .. ' ' .. first .. ' 0 0', ARGV[2],
    first .. ' ' .. ARGV[3] .. ' ' .. number .. ' ' .. since .. ' ' .. ARGV[5] .. ' ' .. ARGV[6] .. '\n' .. ARGV[7])
  if not (kept and ends <= kept and kept <= 2 ^ 53) then
    local keep = string.match(ARGV[1], '%d+$')
    redis.call('HSET', KEYS[1], 'kept', format('%d', ends + keep * 1000))
    redis.call('PEXPIRE', KEYS[1], ARGV[5] + 2 * keep)
  end
  return counter
end
