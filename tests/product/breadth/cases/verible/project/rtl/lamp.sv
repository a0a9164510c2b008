// Lets a lamp blink.
module lamp (
    input  logic clk,
    input  logic reset,
    output logic light
);
  logic [3:0] phase;
  counter #(
      .WIDTH(4)
  ) slow (
      .clk  (clk),
      .reset(reset),
      .ticks(phase)
  );
  assign light = phase[3];
endmodule
