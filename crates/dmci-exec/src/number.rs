//! What lists of lanes hold.

/// Machine code and memory depend on there being no other numbers.
mod sealed {
    pub trait Sealed {}
    impl Sealed for f64 {}
    impl Sealed for f32 {}
}

/// A number of double or single precision.
pub trait Number:
    sealed::Sealed + Copy + std::fmt::Debug + Default + PartialEq + Into<f64> + Send + Sync + 'static
{
    /// Whether it is of single precision.
    const SINGLE: bool;

    /// The nearest one.
    fn rounded(x: f64) -> Self;

    /// The bits of the same number in double precision.
    #[inline]
    fn bits(self) -> u64 {
        let x: f64 = self.into();
        x.to_bits()
    }

    /// The number nearest to one that is given by these bits.
    #[inline]
    fn of_bits(bits: u64) -> Self {
        Self::rounded(f64::from_bits(bits))
    }
}

impl Number for f64 {
    const SINGLE: bool = false;

    #[inline]
    fn rounded(x: f64) -> f64 {
        x
    }
}

impl Number for f32 {
    const SINGLE: bool = true;

    #[inline]
    fn rounded(x: f64) -> f32 {
        x as f32
    }
}
