unit Broken;

interface

procedure Count(Limit Integer);

implementation

procedure Count(Limit Integer);
begin
  if Limit > then
    Exit;
end;

end.
