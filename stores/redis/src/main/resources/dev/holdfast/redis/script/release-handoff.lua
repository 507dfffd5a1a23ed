-- Included by release.lua for a claim that does not hold a mutex alone: another kind of lock that nobody waits for, or
-- one whose holder has all permits while others wait. If the first waiter wants all permits, too, and its client is
-- subscribed, it becomes the owner.
--
-- It does what record.lua would do, with fewer commands and without creating that file's functions, because the
-- next owner waits for this script, too. In any unusual case it does nothing and leaves the work to record.lua.
local granted, limit, waiting = string.match(use, '^(%d+) (%d+) %d+ (%d+) 0$')
local own = redis.call('HMGET', KEYS[1], ARGV[2], 'queue')
local ends, permits = string.match(own[1] or '', '^(%d+) (%d+) ')
if permits and permits == granted and tonumber(ends) > now then
  if waiting == '0' then
    redis.call('HDEL', KEYS[1], ARGV[2], 'use')
    return 1
  end
  local id, back = string.match(own[2] or '', '^(%S+) (%S+) %S+ 0$')
  local f = id and granted == limit and redis.call('HMGET', KEYS[1], '>' .. id, '@' .. id, 'counter', 'kept')
  local ticket_ends, wanted, lease, repeated, client_channel, owner =
    string.match(f and f[1] or '', '^(%d+) (%d+) %d+ (%d+) ([01]) (%S+)\n(.*)$')
  local after = string.match(f and f[2] or '', '^%S+ (%S+) 0$')
  local channel, ticket = string.match(ARGV[1], '^(%S+) (%d+)')
  local last, kept = tonumber(f and f[3] or 0), tonumber(f and f[4])
  local is_usual = after and wanted == limit and tonumber(ticket_ends) > now and (after == '-') == (waiting == '1')
    and last and last <= 2 ^ 53 and kept and kept <= 2 ^ 53 and now + (ARGV[3] + ticket) * 1000 <= kept
  -- include subscribers.lua
  local command = is_usual and (client_channel == channel or subscribers(client_channel))
  if command then
    local life = math.min(ticket, lease)
    local counter = string.format('%d', math.max(last + 1, now))
    local over = string.format('%d', now + life * 1000)
    local grant = string.format('%s %s %s %d %s %s\n', over, wanted, counter, now, lease, repeated) .. owner
    local use = limit .. ' ' .. limit .. ' ' .. over .. ' ' .. waiting - 1 .. ' 0'
    if after == '-' then
      redis.call('HDEL', KEYS[1], ARGV[2], '>' .. id, '@' .. id, 'queue')
      redis.call('HSET', KEYS[1], 'counter', counter, 'use', use, id, grant)
    else
      redis.call('HDEL', KEYS[1], ARGV[2], '>' .. id, '@' .. id)
      redis.call('HSET', KEYS[1], 'counter', counter, 'use', use, id, grant, 'queue', after .. ' ' .. back .. ' ' .. after .. ' 0')
    end
    if command == true then
      return { 1, 0, 0, id, tonumber(counter), life }
    end
    redis.pcall(command, client_channel, 'granted ' .. id .. ' ' .. counter .. ' ' .. life)
    return { 1, 0, 0 }
  end
end
