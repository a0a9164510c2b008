module broken
  use ocean, only: water_column
  implicit none

contains

  subroutine drift(speed)
    real, intent(in) :: speeed
    real :: speed
  end subroutine drift

end module broken
