-- Included by acquire.lua: refuses a name of which another claim holds all permits, as nothing can be granted to a waiter
-- either.
if state[1] then
  local granted, limit, ends = string.match(state[1], '^(%d+) (%d+) (%d+) %d+ 0$')
  if granted == limit and limit == ARGV[4] and granted ~= '0' and redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then
    clock = redis.call('TIME')
    local left = ends - (clock[1] * 1000000 + clock[2])
    if left > 0 and left < 2 ^ 53 then
      return { 0, left, 0 }
    end
  end
end
