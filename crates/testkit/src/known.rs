//! The ops as an enum, for models and checkers that need a rule for every op. The compiler checks a `match` on
//! [`Known`] for completeness, which it cannot for [`Op`].

use tenure_kernel::{Op, for_each_op, op};

macro_rules! known {
    ($($module:ident::$request:ident,)+) => {
        /// An op, by its type.
        #[derive(Clone, Copy, Debug)]
        pub enum Known<'a> {
            $($request(&'a op::$module::$request),)+
        }

        impl<'a> Known<'a> {
            /// The op by its type.
            pub fn of(op: &'a Op) -> Known<'a> {
                let found = [$(op.get().map(Known::$request)),+];
                found.into_iter().flatten().next().unwrap_or_else(|| panic!("`{}` is missing in Known", op.name()))
            }
        }
    };
}

for_each_op!(known);
