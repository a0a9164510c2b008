local M = {}

---@class Item
---@field count integer
---@field price number

---@class Inventory
---@field name string
---@field items table<string, Item>
local Inventory = {}
Inventory.__index = Inventory

---@param name string
---@return Inventory
function M.open(name)
    return setmetatable({ name = name, items = {} }, Inventory)
end

---@param item string
---@param count integer
---@param price number
function Inventory:add(item, count, price)
    self.items[item] = { count = count, price = price }
end

---What all items are worth together.
---@param inventory Inventory
---@return number
function M.total_value(inventory)
    local sum = 0
    for _, item in pairs(inventory.items) do
        sum = sum + item.count * item.price
    end
    return sum
end

return M
