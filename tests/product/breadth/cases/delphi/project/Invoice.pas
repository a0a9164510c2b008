unit Invoice;

interface

uses Prices;

function InvoiceText(const Article: string; const APrice: TPrice): string;

implementation

function InvoiceText(const Article: string; const APrice: TPrice): string;
begin
  Result := Article + ': ' + FormatPrice(APrice);
end;

end.
