//! Prints the book's page "What is answered when".

fn main() {
    print!("{}", tenure_e2e::matrix::page::render());
}
