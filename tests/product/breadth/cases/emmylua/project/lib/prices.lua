local M = {}

---@param net number
---@return number
function M.with_tax(net)
    return net * (1 + tax_rate)
end

return M
