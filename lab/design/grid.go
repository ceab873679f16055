package design

// MostPoints is the largest number of points of a design.
const MostPoints = 100_000

// GridSize is the number of points of a grid with so many values along each axis, or
// MostPoints + 1 when there are more than MostPoints.
func GridSize(values []int) int {
	size := 1
	for _, n := range values {
		if n == 0 {
			return 0
		}
	}
	for _, n := range values {
		if n > MostPoints/size {
			return MostPoints + 1
		}
		size *= n
	}
	return size
}

// Grid calls use with every point of a grid, as an index per axis, the last axis
// fastest; use must not keep the slice. A grid without axes has one point.
func Grid(values []int, use func(at []int)) {
	for _, n := range values {
		if n == 0 {
			return
		}
	}
	at := make([]int, len(values))
	for {
		use(at)
		axis := len(at) - 1
		for axis >= 0 {
			if at[axis]++; at[axis] < values[axis] {
				break
			}
			at[axis] = 0
			axis--
		}
		if axis < 0 {
			return
		}
	}
}
