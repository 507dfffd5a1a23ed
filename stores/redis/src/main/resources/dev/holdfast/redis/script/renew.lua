-- Renews grants and refreshes tickets. Never shortens a grant, never revives one that is over.
--
-- KEYS  the record of each claim; a record may be named more than once
-- ARGV  see record.lua; as many claims as keys, at most 256
-- Reply {answers, handed}: three numbers for each claim, a code and two more, as 'renew' of renewal.lua returns them,
--       or 7, error, 0 if this claim's record cannot be read; then id, counter, lease in ms of the caller's waiters
--       that were granted
-- Cost  for each claim O(1), 2 commands if it is the sole holder and no claim waits; O(grants + waiters) if a grant may be
--       over
local answers, rest, state = {}, {}, nil

local function put(i, code, a, b)
  answers[i * 3 - 2], answers[i * 3 - 1], answers[i * 3] = code, a, b
end

-- A server that is out of memory refuses HSET in a script, but not after a write that needs no memory. Leases must
-- not end for lack of memory.
local asked = redis.pcall('HDEL', KEYS[1], '-')
-- The data of a replica may be outdated, so a replica must not answer. The error leads the client to the primary.
if type(asked) == 'table' and asked.err and string.find(asked.err, 'READONLY', 1, true) then
  return asked
end
local clock = redis.call('TIME')
local sent, kept_for = clock[1] * 1000000 + clock[2], string.match(ARGV[1], '%d+$')

-- Renews the grant of a sole holder without waiters. It comes before record.lua, so that the common renewal does not
-- even create that file's functions. A renewal does not change the fields between the end and the lease: permits,
-- counter and since.
local function renew_sole(key, at)
  local f = redis.pcall('HMGET', key, 'use', 'kept', ARGV[at])
  if f.err then
    return
  end
  state = f
  if not f[1] or not f[3] then
    return
  end
  local ends, middle, permits, counter = string.match(f[3], '^(%d+) ((%d+) (%d+) %d+) ')
  ends = tonumber(ends)
  if not ends or ends <= sent or ends > 2 ^ 53 or permits ~= string.match(f[1], '^(%d+) %d+ %d+ 0 0$') then
    return
  end
  ends = math.max(ends, sent + ARGV[at + 3] * 1000)
  -- The end in 'use' need not change: it only means that no grant ends earlier.
  redis.call('HSET', key, ARGV[at],
    string.format('%d', ends) .. ' ' .. middle .. ' ' .. ARGV[at + 3] .. ' ' .. ARGV[at + 4] .. '\n' .. ARGV[at + 5])
  local kept = tonumber(f[2])
  if not (kept and ends <= kept and kept <= 2 ^ 53) then
    redis.call('HSET', key, 'kept', string.format('%d', ends + kept_for * 1000))
    redis.call('PEXPIRE', key, string.format('%d', math.ceil((ends - sent) / 1000) + 2 * kept_for))
  end
  return tonumber(counter), ends - sent
end

for i = 1, #KEYS do
  local counter, left = renew_sole(KEYS[i], i * 6 - 4)
  if counter then
    put(i, 1, counter, left)
  else
    rest[#rest + 1] = i
  end
end
if #rest == 0 then
  return { answers, {} }
end
-- include record.lua
-- include renewal.lua
local function renew_one(i)
  local c = claim_at(i)
  local r = open(KEYS[i], c.id, #KEYS == 1 and state) -- Another claim of the batch may have changed a record.
  if is_free(r) and r.tombs == 0 then
    return 5, 0, 0
  end
  settle(r, c.id)
  local code, a, b = renew(r, c)
  close(r, c.lease + ticket)
  return code, a, b
end

for _, i in ipairs(rest) do
  local notified = #handed
  local ok, code, a, b = pcall(renew_one, i)
  if not ok then
    -- The summary does not count what this claim's record has granted.
    outbox = nil
    while #handed > notified do
      handed[#handed] = nil
    end
    code, a, b = 7, type(code) == 'table' and (code.err or code[1]) or tostring(code), 0
  end
  put(i, code, a, b)
end
return { answers, handed }
