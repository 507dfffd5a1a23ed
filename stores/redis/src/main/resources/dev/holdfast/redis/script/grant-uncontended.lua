-- Included where no claim uses a name: writes the grant of the claim that asks, as record.lua would. The includer has 'state'
-- (the fields use, kept and counter), the time 'now', and the 'counter' of the grant.
local format, ends, kept = string.format, now + ARGV[5] * 1000, tonumber(state[2])
local since, first = format('%d', now), format('%d', ends)
local number = counter == now and since or format('%d', counter)
redis.call('HSET', KEYS[1], 'counter', number, 'use', ARGV[3] .. ' ' .. ARGV[4] .. ' ' .. first .. ' 0 0', ARGV[2],
  first .. ' ' .. ARGV[3] .. ' ' .. number .. ' ' .. since .. ' ' .. ARGV[5] .. ' ' .. ARGV[6] .. '\n' .. ARGV[7])
if not (kept and ends <= kept and kept <= 2 ^ 53) then
  local keep = string.match(ARGV[1], '%d+$')
  redis.call('HSET', KEYS[1], 'kept', format('%d', ends + keep * 1000))
  redis.call('PEXPIRE', KEYS[1], ARGV[5] + 2 * keep)
end
