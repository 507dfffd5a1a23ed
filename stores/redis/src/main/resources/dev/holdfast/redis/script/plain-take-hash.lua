-- Included by plain-acquire.lua. Takes the lock for a new grant, if it is free. Returns whether it was; if it is another
-- claim's, or of a client of Redisson, and nobody waits for it as a fair lock, also the time left in milliseconds.
-- include plain-holder.lua
local function take(text)
  local count = redis.call('EXISTS', KEYS[1], KEYS[3])
  if count == 0 then
    redis.call('HSET', KEYS[1], ARGV[2], 1)
    redis.call('PEXPIRE', KEYS[1], ARGV[5])
    redis.call('HSET', KEYS[2], 'holder', text)
    return true
  end
  local field, known = holder(KEYS[1])
  return false, count == 1 and known and field and field ~= ARGV[2] and redis.call('PTTL', KEYS[1])
end
