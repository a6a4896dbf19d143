//! States that the ends exchange in one byte.

use windlass_base::Named;

/// A state of a test, as sent on the control connection. The numbers are those of `iperf_api.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Named)]
#[repr(i8)]
pub enum TestState {
    /// The server has all streams.
    TestStart = 1,
    /// Data is to be sent from now on.
    TestRunning = 2,
    /// The client sends no more data.
    TestEnd = 4,
    /// The server asks for the parameters.
    ParamExchange = 9,
    /// The server asks for the streams.
    CreateStreams = 10,
    /// The server was told to stop.
    ServerTerminate = 11,
    /// The client was told to stop.
    ClientTerminate = 12,
    /// The server asks for the results.
    ExchangeResults = 13,
    /// The server has sent its own results.
    DisplayResults = 14,
    /// The client closes the connection.
    IperfDone = 16,
    /// The server is busy with another client.
    AccessDenied = -1,
    /// The server cannot go on. Two numbers of four bytes follow: a
    /// [`super::Code`], and the system's error number.
    ServerError = -2,
}

impl TestState {
    /// Returns the byte on the wire.
    pub const fn byte(self) -> u8 {
        (self as i8).cast_unsigned()
    }

    /// Returns the state of a byte, if any.
    pub fn read(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.byte() == byte)
    }

    /// Returns its name in iperf3, such as `TEST_START`.
    pub fn name(self) -> String {
        self.id().replace('-', "_").to_uppercase()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_has_its_number() {
        for state in TestState::ALL {
            assert_eq!(TestState::read(state.byte()), Some(state));
        }
        let known = (0..=u8::MAX).filter(|byte| TestState::read(*byte).is_some());
        assert_eq!(known.collect::<Vec<_>>(), [1, 2, 4, 9, 10, 11, 12, 13, 14, 16, 254, 255]);
        assert_eq!(TestState::AccessDenied.byte(), 255);
        assert_eq!(TestState::AccessDenied.name(), "ACCESS_DENIED");
    }
}
