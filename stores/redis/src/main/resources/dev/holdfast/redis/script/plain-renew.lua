-- Renews grants of the layouts of the plain package. Never shortens a grant, never revives one that is over. The text of
-- a grant whose terms change is rewritten.
--
-- KEYS  for each claim two: the lock (FORM), the record
-- ARGV  see record.lua; as many claims as pairs of keys, at most 256
-- Reply five numbers for each claim: code, counter, left in us, since and ENDS of the text (0, 0 if it is a grant in
--       the record); 5, why, 0, 0, 0 gone, as 'renew' of renewal.lua returns it; 7, error, 0, 0, 0 if this claim's
--       keys cannot be read
-- Cost  for each claim O(1), if nothing changes but its end: 3 commands of a string, 4 of a hash, one more of both before
--       Redis 7, 4 of a time stamp; else O(grants) when one may be over
local answers, rest = {}, {}

local function put_answer(i, code, a, b, since, ends)
  local at = i * 5
  answers[at - 4], answers[at - 3], answers[at - 2], answers[at - 1], answers[at] = code, a, b, since, ends
end

-- As in renew.lua: leases must not end for lack of memory.
local asked = redis.pcall('HDEL', KEYS[2], '-')
-- The data of a replica may be outdated, so a replica must not answer. The error leads the client to the primary.
if type(asked) == 'table' and asked.err and string.find(asked.err, 'READONLY', 1, true) then
  return asked
end
local clock = redis.call('TIME')
local sent = clock[1] * 1000000 + clock[2]

-- Returns the counter, since and ENDS of the text of a grant if it is this claim's and its terms stay the same.
local function unchanged(text, at)
  local id, counter, since, ends, lease, owner =
    string.match(type(text) == 'string' and text or '', '^holdfast1 (%S+) (%d+) (%d+) (%d+) (%d+)\n(.*)$')
  if id == ARGV[at] and lease == ARGV[at + 3] and owner == ARGV[at + 5] and math.max(counter, since, ends) <= 2 ^ 53 then
    return counter + 0, since + 0, ends + 0
  end
end

-- Whether a record with these fields has its counter and outlives a grant that ends this long (ms) from now.
local function is_kept(counter, kept, life)
  kept = counter and tonumber(kept or nil)
  return kept and sent + life * 1000 <= kept and kept <= 2 ^ 53
end

-- Lets the lock end this long (ms) from now, and returns whether it does; not if it ends later, or never. Servers that tell
-- scripts their version can compare both ends by themselves, as both came with Redis 7.
local function prolong_lock(key, life)
  if redis.REDIS_VERSION_NUM and redis.pcall('PEXPIRE', key, life, 'GT') == 1 then
    return true
  end
  local left, wanted = tonumber(redis.pcall('PTTL', key)) or -1, tonumber(life)
  return left == wanted or left >= 0 and left < wanted and redis.pcall('PEXPIRE', key, life) == 1
end

-- The common renewal comes before record.lua, so that it does not even create that file's functions. It leaves every
-- failure to the rest of this script, since the other claims must be renewed nevertheless.
-- include plain-renew-FORM.lua
for i = 1, #KEYS / 2 do
  local at = i * 6 - 4
  local counter, since, ends = renew_unchanged(KEYS[2 * i - 1], KEYS[2 * i], at)
  if counter then
    put_answer(i, 1, counter, ARGV[at + 3] * 1000, since, ends)
  else
    rest[#rest + 1] = i
  end
end
if #rest == 0 then
  return answers
end
-- include record.lua
-- include renewal.lua
-- include plain-FORM.lua

-- Makes the record live at least until this grant ends. Many renewals leave the text unchanged, but the counter must
-- outlive the grant.
local function keep_record(key, life, counter)
  local ends, f = now + life * 1000, redis.call('HMGET', key, 'counter', 'kept')
  if not f[1] then
    redis.call('HSET', key, 'counter', string.format('%d', counter))
  end
  local kept = tonumber(f[2] or nil)
  if not (kept and ends <= kept and kept <= 2 ^ 53) then
    redis.call('HSET', key, 'kept', string.format('%d', ends + keep * 1000))
    redis.call('PEXPIRE', key, string.format('%d', life + 2 * keep))
  end
end

local function renew_one(i)
  local c, key, record = claim_at(i), KEYS[2 * i - 1], KEYS[2 * i]
  local text, p = look(key, record, c.id)
  if p and p.id == c.id then
    local life = math.max(millis_left(key, record), c.lease)
    keep_record(record, life, p.counter)
    if p.lease ~= c.lease or p.owner ~= c.owner then
      p.lease, p.owner, p.ends = c.lease, c.owner, math.max(p.ends + 1, now + life * 1000)
      text = nil
    end
    put(key, record, p, text, life)
    return 1, p.counter, life * 1000, p.since, p.ends
  end
  local r = open(record, c.id)
  if not text and is_free(r) and r.tombs == 0 then
    return 5, 0, 0, 0, 0
  end
  settle(r)
  local code, a, b = renew(r, c)
  close(r, c.lease + ticket)
  if code == 5 and a == 0 and text then
    a = 1
  end
  return code, a, b, 0, 0
end

for _, i in ipairs(rest) do
  local ok, code, a, b, since, ends = pcall(renew_one, i)
  if ok then
    put_answer(i, code, a, b, since, ends)
  else
    put_answer(i, 7, type(code) == 'table' and (code.err or code[1]) or tostring(code), 0, 0, 0)
  end
end
return answers
