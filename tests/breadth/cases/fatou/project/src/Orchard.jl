module Orchard

export Tree, Apple, Pear, total_yield

include("harvest.jl")
include("prices.jl")

end
