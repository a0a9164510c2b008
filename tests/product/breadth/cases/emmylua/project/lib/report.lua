local inventory = require("lib.inventory")

local M = {}

---@param shop Inventory
---@return string
function M.lines(shop)
    local lines = {}
    for name, item in pairs(shop.items) do
        lines[#lines + 1] = ("%-10s %3d"):format(name, item.count)
    end
    lines[#lines + 1] = ("total %.2f"):format(inventory.total_value(shop))
    return table.concat(lines, "\n")
end

return M
