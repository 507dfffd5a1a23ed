-- Included by the scripts of the plain package: an exclusive lock that is the hash of Redisson's RLock.
--
-- Keys of one resource: K, which clients of Redisson lock, too; R = holdfast:plain:{K}, as in plain-string.lua; and Q,
-- the queue of Redisson's fair lock, which must not be there. Q is in the hash slot of K.
--   K   hash of one field, HOLDER: how often it holds. The holder is UUID:THREAD for a client of Redisson, and the
--       claim's id for ours, which holds once: where a script of Redisson's meets a number it may count down from it.
--       The lock ends when K expires.
--   R   has one more field, holder: the text of the last grant of ours, which is over unless K has its id
-- include plain-text.lua

local function refuse(key, what)
  error('HOLDFAST-REDISSON key ' .. key .. ' is ' .. what)
end

-- include plain-holder.lua

-- Returns the text of the lock, and what it says if it is ours; nothing if the lock is free. The text of another program's
-- lock is its holder. A renewal asks no more than whether the lock is its own still.
local function look(key, record, renewed)
  local field, known = holder(key)
  if not known and renewed then
    return field or ''
  elseif not known then
    refuse(key, redis.call('HEXISTS', key, 'mode') == 1 and 'a read-write lock of Redisson' or 'a hash, but no lock')
  end
  local text = field and redis.call('HGET', record, 'holder')
  local p = text and plain_of(text)
  if p and p.id == field then
    return text, p
  end
  return field
end

-- Returns the time left in milliseconds, or less than 0 if the lock has no end.
local function millis_left(key)
  return redis.call('PTTL', key)
end

-- Fails if clients of Redisson wait for a fair lock: they would be overtaken, and would not be woken by our release.
local function check_queue()
  if redis.call('EXISTS', KEYS[3]) == 1 then
    refuse(KEYS[1], 'a fair lock of Redisson, whose waiters are in ' .. KEYS[3])
  end
end

-- Writes a grant that lasts for this long (ms). The text is nil if its terms have changed.
local function put(key, record, p, text, life)
  if not text then
    redis.call('HSET', key, p.id, 1)
    redis.call('HSET', record, 'holder', plain_text(p))
  end
  redis.call('PEXPIRE', key, string.format('%.0f', life))
end

-- Whether a key is a lock.
local function is_lock(key)
  if redis.call('TYPE', key).ok ~= 'hash' then
    return false
  end
  local field, known = holder(key)
  return field and known
end
