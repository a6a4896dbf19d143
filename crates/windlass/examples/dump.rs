use std::io::Read;
use windlass_trace::*;
use windlass_wire::*;
struct S {
    d: Decoder,
    a: Option<Analyzer>,
}
impl Sink for S {
    fn packet(&mut self, p: &Packet<'_>) {
        if let Decoded::Segment(s) = self.d.decode(p) {
            self.segment(&s)
        }
    }
    fn segment(&mut self, s: &Segment) {
        self.a.as_mut().unwrap().segment(s, &mut ());
    }
}
fn main() {
    let long = std::env::args().any(|a| a == "-l");
    for f in std::env::args().skip(1).filter(|a| a != "-l") {
        let mut raw = std::fs::read(&f).unwrap();
        if f.ends_with(".gz") {
            let mut v = vec![];
            flate2::read::MultiGzDecoder::new(&raw[..]).read_to_end(&mut v).unwrap();
            raw = v;
        }
        let mut c = Capture::new();
        let mut s = S { d: Decoder::new(), a: Some(Analyzer::new(Keep::Largest(3))) };
        let mut at = 0;
        loop {
            let p = c.read(&raw[at..], true, &mut s);
            at += p.consumed;
            if p.finished || p.consumed == 0 {
                break;
            }
        }
        let (k, _t) = s.a.take().unwrap().finish();
        println!("{}", f.rsplit('/').next().unwrap());
        for f in k {
            println!("   {}", classify::dump(&f));
            if long {
                print!("{}", classify::dump_long(&f));
            }
        }
    }
}
