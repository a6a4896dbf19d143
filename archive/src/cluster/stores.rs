//! Object stores of an executor: by URL, with the executor's own credentials.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::{DataFusionError, Result, exec_err};
use datafusion::execution::object_store::ObjectStoreRegistry;
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use url::Url;

use crate::store::Place;

/// Stores that were used so far.
#[derive(Debug, Default)]
pub struct Stores(Mutex<HashMap<String, Arc<dyn ObjectStore>>>);

fn key(url: &Url) -> String {
    format!("{}://{}", url.scheme(), url.host_str().unwrap_or_default())
}

fn made(url: &Url) -> Result<Arc<dyn ObjectStore>> {
    match url.scheme() {
        "file" => Ok(Arc::new(LocalFileSystem::new())),
        "s3" => {
            let place = Place::existing(&key(url), "cannot read");
            let place = place.map_err(|error| DataFusionError::Execution(error.to_string()))?;
            Ok(Arc::clone(place.store()))
        }
        _ => exec_err!("there is no store {url}"),
    }
}

impl ObjectStoreRegistry for Stores {
    fn register_store(
        &self,
        url: &Url,
        store: Arc<dyn ObjectStore>,
    ) -> Option<Arc<dyn ObjectStore>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key(url), store)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        let mut stores = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = stores.get(&key(url)) {
            return Ok(Arc::clone(store));
        }
        let store = made(url)?;
        stores.insert(key(url), Arc::clone(&store));
        Ok(store)
    }
}
