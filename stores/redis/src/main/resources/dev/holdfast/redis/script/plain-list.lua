-- One step of a search for the strings of the plain layout, those of Holdfast and of other programs. Changes
-- nothing.
--
-- KEYS  none, because the script looks for the keys
-- ARGV  1 cursor, 0 at first; 2 pattern of the keys; 3 how many keys to examine
-- Reply {next cursor, 0 at the end, key of a string, ...}
-- Cost  O(keys examined)
local scanned = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
local found = { scanned[1] }
for _, key in ipairs(scanned[2]) do
  if redis.call('TYPE', key).ok == 'string' then
    found[#found + 1] = key
  end
end
return found
