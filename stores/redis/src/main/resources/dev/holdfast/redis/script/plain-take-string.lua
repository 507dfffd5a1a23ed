-- Included by plain-acquire.lua. Takes the lock for a new grant, if it is free. Returns whether it was; if another claim or
-- program has it, also the time left in milliseconds.
local function take(text)
  if redis.call('SET', KEYS[1], text, 'NX', 'PX', ARGV[5]) then
    return true
  end
  local held = redis.call('GET', KEYS[1])
  local is_of_another = held and string.find(held, 'holdfast1 ' .. ARGV[2] .. ' ', 1, true) ~= 1
  return false, is_of_another and redis.call('PTTL', KEYS[1])
end
