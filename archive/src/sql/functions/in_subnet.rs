//! `in_subnet(address, network)`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, BooleanArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::common::{Result, plan_err};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use ipnet::IpNet;

/// Function that tests whether an address, as text or bytes, is in a network such as `10.0.0.0/8`.
/// The result is null if the address is null or not valid.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct InSubnet {
    signature: Signature,
}

impl InSubnet {
    pub(super) fn new() -> Self {
        Self { signature: Signature::any(2, Volatility::Immutable) }
    }
}

const fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null)
}

const fn is_bytes(kind: &DataType) -> bool {
    matches!(kind, DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
}

/// Parses a network; a single address counts as one.
fn network(text: &str) -> Result<IpNet> {
    let whole = || text.parse::<IpAddr>().ok().map(IpNet::from);
    let parsed = text.parse::<IpNet>().ok().or_else(whole);
    parsed.ok_or_else(|| {
        let wrong =
            format!("in_subnet: {text:?} is no network, such as 10.0.0.0/8 or 2001:db8::/32");
        DataFusionError::Plan(wrong)
    })
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return Some(Ipv4Addr::from(four).into());
    }
    <[u8; 16]>::try_from(bytes).ok().map(|all| Ipv6Addr::from(all).into())
}

/// Returns the addresses of a column: `None` for null or invalid ones.
fn addresses(column: &ArrayRef) -> Result<Vec<Option<IpAddr>>> {
    if is_text(column.data_type()) {
        let column = cast(column, &DataType::Utf8)?;
        let column = column.as_string::<i32>();
        return Ok(column.iter().map(|text| text?.parse().ok()).collect());
    }
    let column = cast(column, &DataType::Binary)?;
    Ok(column.as_binary::<i32>().iter().map(|bytes| address(bytes?)).collect())
}

impl ScalarUDFImpl for InSubnet {
    fn name(&self) -> &str {
        "in_subnet"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        match kinds {
            [address, network] if (is_text(address) || is_bytes(address)) && is_text(network) => {
                Ok(DataType::Boolean)
            }
            _ => plan_err!(
                "in_subnet takes an address, as text or binary, and a network as text, such as \
                 in_subnet(receiver_address, '10.0.0.0/8')"
            ),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [column, networks] = arrays.as_slice() else {
            return plan_err!("in_subnet takes an address and a network");
        };
        let networks = cast(networks, &DataType::Utf8)?;
        let networks = networks.as_string::<i32>();
        let mut last: Option<(&str, IpNet)> = None;
        let mut inside = Vec::with_capacity(column.len());
        for (address, text) in addresses(column)?.into_iter().zip(networks) {
            let Some(text) = text else {
                inside.push(None);
                continue;
            };
            let network = match last {
                Some((of, network)) if of == text => network,
                _ => network(text)?,
            };
            last = Some((text, network));
            inside.push(address.map(|address| network.contains(&address)));
        }
        Ok(ColumnarValue::Array(Arc::new(BooleanArray::from(inside))))
    }
}
