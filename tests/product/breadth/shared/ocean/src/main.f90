program station
  use ocean, only: water_column, density_of
  use buoy, only: report
  implicit none
  type(water_column) :: surface

  surface%temperature = 18.5
  surface%salinity = 35.0
  call report(surface)
  print *, "at the surface", density_of(surface)
end program station
