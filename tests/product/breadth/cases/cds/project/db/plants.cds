namespace garden;

entity Plants {
  key ID    : Integer;
      name  : String(80);
      cents : Integer;
      lines : Association to many OrderLines on lines.plant = $self;
}

entity OrderLines {
  key ID    : Integer;
      plant : Association to Plants;
      count : Integer;
}
