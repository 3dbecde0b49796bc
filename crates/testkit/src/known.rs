//! The ops as an enum, for models and checkers that have a rule for each op they meet: a `match` on [`Known`] is shorter than
//! a chain of [`Op::get`].

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
