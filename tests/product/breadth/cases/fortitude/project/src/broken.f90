module broken
contains
  subroutine drift(speed)
    real :: speed
    if (speed .gt. 1.0) then
      speed = 1.0
    end if
  end subroutine drift
end module broken
