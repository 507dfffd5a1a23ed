-- Included by release.lua for a claim that held all permits while others wait. If the first waiter wants all
-- permits, too, and its client is subscribed, it becomes the owner.
--
-- It does what record.lua would do, with fewer commands and without creating that file's functions, because the
-- next owner waits for this script, too. In any unusual case it does nothing and leaves the work to record.lua.
-- Later waiters whose tickets have expired stay until the next script that counts them.
if granted == limit then
  -- include subscribers.lua
  local head = redis.call('ZRANGE', KEYS[1] .. ':order', 0, 0, 'WITHSCORES')
  local id = head[1]
  local ticket_ends = id and tonumber(head[2]) < 2 ^ 52 and redis.call('ZSCORE', KEYS[1] .. ':ends', id)
  local text = ticket_ends and tonumber(ticket_ends) > now and redis.call('HGET', KEYS[1] .. ':claims', id)
  local wanted, lease, repeated, client_channel, owner
  if text then
    wanted, lease, repeated, client_channel, owner = string.match(text, '^(%d+) %d+ (%d+) ([01]) (%S+)\n(.*)$')
  end
  local channel, ticket = string.match(ARGV[1], '^(%S+) (%d+)')
  local numbers = wanted == limit and redis.call('HMGET', KEYS[1], 'counter', 'kept')
  if numbers and numbers[2] and now + (ARGV[3] + ticket) * 1000 <= tonumber(numbers[2]) then
    local life = math.min(ticket, lease)
    local last = tonumber(numbers[1]) or 0
    local counter = string.format('%.0f', math.max(last + 1, now))
    local over = string.format('%.0f', now + life * 1000)
    local command = client_channel == channel or subscribers(client_channel)
    if command then
      redis.call('ZREM', KEYS[1] .. ':order', id)
      redis.call('ZREM', KEYS[1] .. ':ends', id)
      redis.call('HDEL', KEYS[1] .. ':claims', id)
      redis.call('HDEL', KEYS[1], ARGV[2])
      redis.call('HSET', KEYS[1], 'counter', counter, 'use', limit .. ' ' .. limit .. ' ' .. over .. ' ' .. waiting - 1 .. ' 0',
        id, over .. ' ' .. wanted .. ' ' .. counter .. ' ' .. string.format('%.0f', now) .. ' ' .. lease .. ' ' .. repeated
          .. '\n' .. owner)
      if command == true then
        return { 1, 0, 0, id, tonumber(counter), life }
      end
      redis.pcall(command, client_channel, 'granted ' .. id .. ' ' .. counter .. ' ' .. life)
      return { 1, 0, 0 }
    end
  end
end
