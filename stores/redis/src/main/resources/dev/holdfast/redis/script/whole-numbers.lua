-- Included by the scripts that a store calls first: the others write times with %d, which takes half of the time of %.0f
-- and fails in a 32-bit program.
if string.format('%d', 2 ^ 53) ~= '9007199254740992' then
  error('HOLDFAST-32-BIT this server is a 32-bit program')
end
