-- Included by the scripts of the plain package: an exclusive lock that is the string of SET NX PX.
--
-- Keys of one resource: K, a key that programs without Holdfast may also lock, with SET NX PX and a delete that
-- compares; and R = holdfast:plain:{K}, a record as in record.lua, for the counter, the tombstones, and grants of
-- other kinds (layout=mixed). R never has a grant of limit 1, nor waiters. R is in the hash slot of K.
--   K   string: the text of the grant; any other text is a lock of another program
-- The string is the grant: a client must know all of it to release or renew it, and it changes with each grant and
-- each change of its terms. So a late copy of a command with an older string finds nothing.
-- include plain-text.lua

-- Returns the text of the lock, and what it says if it is ours; nothing if the lock is free.
local function look(key)
  local text = redis.call('GET', key)
  return text, text and plain_of(text)
end

-- Returns the time left in milliseconds, or less than 0 if the lock has no end.
local function millis_left(key)
  return redis.call('PTTL', key)
end

-- Fails if programs wait in a queue of their own.
local function check_queue()
end

-- Writes a grant that lasts for this long (ms). The text is nil if its terms have changed.
local function put(key, record, p, text, life)
  redis.call('SET', key, text or plain_text(p), 'PX', string.format('%.0f', life))
end

-- Whether a key is a lock.
local function is_lock(key)
  return redis.call('TYPE', key).ok == 'string'
end
