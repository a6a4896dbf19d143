//! The facts of a transfer that packets show.

use super::Transfer;
use crate::estimate::message_releases::MessageReleases;
use crate::estimate::reader::Reader;
use crate::judge::{
    AckFacts, CaptureFacts, Facts, LineFacts, LossFacts, OpeningFacts, PathFacts, Quantiles,
    ReaderFacts, SentFacts, WindowFacts,
};

impl Transfer {
    /// Measures the facts; `drops` is the number of packets that the capture's writer says it lost.
    pub(crate) fn facts(&self, drops: Option<u64>) -> Facts {
        let releases = self.message_releases.as_deref();
        Facts {
            capture: self.capture_facts(drops),
            opening: OpeningFacts {
                handshake: self.handshake,
                direction: self.direction,
                ports: [self.sender.port, self.receiver.port],
                is_subflow: self.is_subflow,
            },
            path: self.path_facts(),
            line: self.line_facts(),
            window: WindowFacts {
                scale: self.scale,
                most: self.window_most,
                usual: self.windows.usual(),
                usual_share: self.windows.usual_share(self.counts.zero_windows),
                offers: self.windows.seen,
                segment: self.segment_size,
                closures: Quantiles::of(&self.closures),
                both_closed: self.both_closed,
                reading: self.reading,
                reader: self.reader.as_deref().map(reader_facts),
            },
            acks: AckFacts {
                latency: Quantiles::of(&self.latency),
                cycles: Quantiles::of(&self.cycles),
                mean_stay: self.stays.mean(),
            },
            loss: LossFacts {
                discarding: self.discarding.clone(),
                damaged: self.damaged.clone(),
                black_hole: self.black_hole.clone(),
                full_arrived: self.full_arrived,
                are_even: self.even_losses,
                in_vain: self.sent_in_vain.clone(),
                never_came_back: self.never_came_back(),
                unanswered_again: self.again(),
                returned: self.returned_losses.clone(),
            },
            sent: SentFacts {
                bytes: self.bytes(),
                returned: self.returned,
                is_paced_by_program: self.pace_shares.is_some_and(|shares| shares.are_of_program()),
                pace: self.pace_shares,
                by_messages: releases.and_then(MessageReleases::share),
                is_let_go_by_messages: releases.is_some_and(MessageReleases::is_told),
                ended_by_messages: releases.and_then(MessageReleases::most),
                initial_flight: self.initial_flight,
            },
            far: self.far,
            counts: self.counts.clone(),
            waits: self.ledger.intervals.clone(),
            absorbed: self.ledger.absorbed.clone(),
            longest: self.ledger.longest.clone(),
        }
    }

    fn capture_facts(&self, drops: Option<u64>) -> CaptureFacts {
        CaptureFacts {
            packets: self.packets,
            captured_twice: self.captured_twice,
            drops,
            clock_step: self.clock_step,
            set_backs: self.set_backs,
            set_ahead: self.leaps.len() as u64,
            set_ahead_by: self.leaps.iter().map(|leap| leap.by).sum(),
            disorder: self.disorder,
            answered_before: self.answered_before,
            one_sided: self.one_sided,
            lacks_acks: self.lacks_acks,
            rewritten: self.rewritten,
            made_up_times: self.made_up_times,
            distance: self.ack_delay,
            is_far: self.is_far(),
            hop_limit: self.hop_limits[0],
            receiver_hop_limit: self.hop_limits[1],
            unanswered: self.unanswered,
        }
    }

    fn path_facts(&self) -> PathFacts {
        PathFacts {
            rtt: self.path_rtt,
            told_rtt: self.told_rtt(),
            returned_rtt: self.returned_rtt,
            rtt_of_few: self.rtt_of_few,
            longer: self.longer_path,
            split: self.split,
            may_be_split: self.may_be_split,
            answers_became_slower: self.turns.became_slower(),
            acks_became_slower: self.ack_promptness.became_slower(),
            power_save: self.power_save.clone(),
            data_lateness: Quantiles::of(&self.data_lateness),
            has_stale_echoes: self.echoes.are_stale(),
        }
    }

    fn line_facts(&self) -> LineFacts {
        LineFacts {
            of_data: self.trains.line(self.clock_step),
            of_acks: self.ack_trains.spacing(self.clock_step),
            spacing: self.trains.spacing(self.clock_step),
            service: self.service,
            packet_times: Quantiles::of(&self.packet_times),
            capacity: self.capacity,
            aggregate: self.aggregate,
            full_times: self.full_times.clone(),
            full_queue: self.full_queue,
            tells_lateness: self.tells_lateness,
            policer: self.policer.clone(),
            marks: self.marks,
            moving: self.moving,
        }
    }
}

fn reader_facts(reader: &Reader) -> ReaderFacts {
    ReaderFacts {
        is_told: reader.is_told(),
        is_steady: reader.is_steady(),
        moves_out_of_step: reader.moves_out_of_step(),
        makes_room_by_itself: reader.makes_room_by_itself(),
        leaves_some: reader.leaves_some(),
        out_of_step: reader.out_of_step(),
        own_room: reader.own_room(),
        largest: reader.largest(),
        spread: reader.spread(),
        silly: reader.silly(),
        silly_packets: reader.silly_packets().to_vec(),
    }
}
