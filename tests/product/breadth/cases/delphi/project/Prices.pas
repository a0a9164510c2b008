unit Prices;

interface

type
  TPrice = record
    Cents: Integer;
  end;

function FormatPrice(const APrice: TPrice): string;

implementation

uses SysUtils;

function FormatPrice(const APrice: TPrice): string;
begin
  Result := Format('%d.%.2d EUR', [APrice.Cents div 100, APrice.Cents mod 100]);
end;

end.
