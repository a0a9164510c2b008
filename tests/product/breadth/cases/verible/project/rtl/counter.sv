// Counts the ticks of a clock.
module counter #(
    parameter int WIDTH = 8
) (
    input  logic             clk,
    input  logic             reset,
    output logic [WIDTH-1:0] ticks
);
  always_ff @(posedge clk) begin
    if (reset) ticks <= '0;
    else ticks <= ticks + 1'b1;
  end
endmodule
