program Shop;

uses
  Prices in 'Prices.pas',
  Invoice in 'Invoice.pas';

var
  Total: TPrice;

begin
  Total.Cents := 1250;
  WriteLn(InvoiceText('tea', Total));
  WriteLn('all: ' + FormatPrice(Total));
end.
