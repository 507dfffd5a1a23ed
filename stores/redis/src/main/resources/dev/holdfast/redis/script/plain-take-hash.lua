-- Included by plain-acquire.lua. Takes the lock for a new grant, if it is free. Returns whether it was.
local function take(text)
  if redis.call('EXISTS', KEYS[1], KEYS[3]) > 0 then
    return false
  end
  redis.call('HSET', KEYS[1], ARGV[2], 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[5])
  redis.call('HSET', KEYS[2], 'holder', text)
  return true
end
