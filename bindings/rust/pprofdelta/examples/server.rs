//! A server that offers its heap: server [ADDRESS [RATE]]
//!
//! `GET /debug/pprof/delta_heap` answers with the window since the last one that arrived. Each window has what was
//! allocated in it, and all that is in use. `curl -s localhost:6060/debug/pprof/delta_heap | pprofdelta show -` shows it.

use pprofdelta::{Heap, Profiler};
use std::alloc::System;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

#[global_allocator]
static ALLOCATOR: Heap<System> = Heap::new(System);

fn answer(stream: TcpStream, profiler: &Profiler, cache: &mut Vec<Vec<u8>>) -> io::Result<()> {
    let mut request = String::new();
    BufReader::new(&stream).read_line(&mut request)?;
    let mut stream = &stream;
    match request.split_whitespace().nth(1) {
        Some("/debug/pprof/delta_heap") => {
            stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n")?;
            // If the client does not take it, its time is in the next window, too.
            profiler.write_to(stream)?;
            Ok(())
        }
        Some("/") => {
            cache.push(vec![0; 64 << 10]); // what the profile will show
            write!(stream, "HTTP/1.0 200 OK\r\n\r\n{} pages\n", cache.len())
        }
        _ => stream.write_all(b"HTTP/1.0 404 Not Found\r\n\r\n"),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or("127.0.0.1:6060".into());
    let rate = arguments.next().map_or(Ok(512 << 10), |rate| rate.parse())?;
    let profiler = Profiler::builder().rate(rate).snapshots(true).start()?;
    let listener = TcpListener::bind(address)?;
    println!("http://{}/debug/pprof/delta_heap", listener.local_addr()?);
    let mut cache = Vec::new();
    for stream in listener.incoming() {
        if let Err(error) = stream.and_then(|stream| answer(stream, &profiler, &mut cache)) {
            eprintln!("server: {error}");
        }
    }
    Ok(())
}
