-- Included after record.lua by the scripts of the plain layout, in which an exclusive grant is a string that SET NX PX made.
--
-- Keys of one resource: K, a key that programs without Holdfast may lock, too, with SET NX PX and a delete that compares;
-- and R = holdfast:plain:{K}, a record as record.lua has it, for the counter, the tombstones, and grants of other kinds
-- (layout=mixed). It never has a grant of limit 1, nor waiters. R is in the hash slot of K.
--   K   string: 'holdfast1 ID COUNTER SINCE ENDS LEASE\nOWNER'; any other text is somebody else's lock
-- The string is the grant: whoever wants to release or renew it must know all of it, and it is another one after each grant and
-- each change of its terms. ENDS is when the grant was to end when its terms (lease, owner) were last written, and more than
-- before each time; PTTL tells when it does end. So a late copy of a command that names an older string finds nothing.
local HEAD = '^holdfast1 (%S+) (%d+) (%d+) (%d+) (%d+)\n(.*)$'

-- nil if somebody else wrote it.
local function plain_of(text)
  local id, counter, since, ends, lease, owner = string.match(text, HEAD)
  return id and { id = id, counter = tonumber(counter), since = tonumber(since), ends = tonumber(ends), lease = tonumber(lease),
    owner = owner }
end

local function plain_text(p)
  return string.format('holdfast1 %s %.0f %.0f %.0f %.0f\n%s', p.id, p.counter, p.since, p.ends, p.lease, p.owner)
end

-- In microseconds; 0 if that is not known, because somebody else's lock has no end.
local function left_of(key)
  return math.max(0, redis.call('PTTL', key)) * 1000
end

-- Makes the record live on at least until this grant ends. The string is the same after many renewals, but the counter must be
-- found again after it.
local function prolong(key, life, counter)
  local ends, f = now + life * 1000, redis.call('HMGET', key, 'counter', 'kept')
  if not f[1] then
    redis.call('HSET', key, 'counter', whole(counter))
  end
  if not f[2] or ends > tonumber(f[2]) then
    redis.call('HSET', key, 'kept', whole(ends + keep * 1000))
    redis.call('PEXPIRE', key, whole(life + 2 * keep))
  end
end
