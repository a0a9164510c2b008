// The whole clock.
module clock_top (
    input  logic       clk,
    input  logic       reset,
    output logic [7:0] seconds,
    output logic       light
);
  counter fast (
      .clk  (clk),
      .reset(reset),
      .ticks(seconds)
  );
  lamp blink (
      .clk  (clk),
      .reset(reset),
      .light(light)
  );
endmodule
