//! The ops by their types, for models and checkers that must have a rule for every op: a `match` on [`Known`] is checked for
//! completeness by the compiler, which [`Op`] is not.

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
