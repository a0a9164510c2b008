"Something that bears fruit."
abstract type Tree end

struct Apple <: Tree
    age::Int
end

struct Pear <: Tree
    age::Int
end

"How many kilograms a tree bears in a year."
function yield_of(tree::Tree)
    young = tree.age < 3
    young ? 0.0 : 12.5 * min(tree.age, 20)
end
