-- Runs a command that writes a key, unless the key was written with a newer fencing token. Users call it; the store does
-- not.
--
-- KEYS  1 the key, 2 the key that keeps its newest token, in the same hash slot
-- ARGV  1 the token, 2 the name of the command, then its arguments after the key
-- Reply that of the command; or the error STALETOKEN, and nothing was done. If the command itself fails, its error, and the
--       token counts nevertheless
-- Cost  2 commands, and 1 more if the token is newer than the last one
local token, last = ARGV[1], redis.call('GET', KEYS[2])
if not string.find(token, '^[1-9]%d*$') then
  return redis.error_reply('ERR a fencing token is a positive number, but was ' .. token)
end
-- Tokens are larger than what a number of this language holds exactly, so their digits are compared.
if last and (#token < #last or (#token == #last and token < last)) then
  return redis.error_reply('STALETOKEN ' .. KEYS[1] .. ' was written with token ' .. last .. ', which is newer than ' .. token)
end
if token ~= last then
  redis.call('SET', KEYS[2], token)
end
return redis.call(ARGV[2], KEYS[1], unpack(ARGV, 3))
